"""The catalog's functions, a module each, named like the function with "_" for "-".

A new one is a module here with `ABOUT` (see `fnrunner.builtin.about`) and `run`, which takes a
ResourceList and returns a `FunctionResult`; `lookup` finds it by its name, and
`python -m tests.docs` writes it into docs/functions.md. A change of what a released one finds or
writes raises its number in `fnrunner.builtin.version`: approvals given before stop counting.
"""
