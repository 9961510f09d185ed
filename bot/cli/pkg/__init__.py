"""The commands `porchbot pkg`, a module each."""
