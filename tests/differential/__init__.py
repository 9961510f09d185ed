"""The same work done by porchbot and by the `kpt` binary, on random packages, and compared."""
