"""What the forge remembers and refuses, in its own words: `state`, and a module a subject."""
