"""Git as the forge's rules need it: a protocol, and bare repositories on disk behind it."""
