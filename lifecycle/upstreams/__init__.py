"""Where packages come from: how an upstream is written, which may be used, what is locked."""
