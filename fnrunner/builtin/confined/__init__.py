"""Code that packages bring (Starlark, Rego), run in processes of its own, inside limits."""
