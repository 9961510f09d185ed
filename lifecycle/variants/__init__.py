"""Variants: downstream packages kept in step with an upstream, in Porch's format.

`reading` makes rules out of files, `resolution` what they want of which package, `making` what a
variant makes of a package, `decision` what is to be done about one downstream. None of them reads
or writes anything outside of its arguments.
"""
