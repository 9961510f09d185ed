"""Cases from folders of data: one module a corpus says how each kind of case is run."""
