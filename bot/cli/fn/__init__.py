"""The commands `porchbot fn`, a module each."""
