"""Cases from folders of data: one module a corpus says how each kind of case is run.

Cases play through what users use: commands of `porchbot`, in this process (`commands`, `merging`,
`render`, `update`, `get`, `heal`, `init`), and functions by their protocol. These kinds are about
something that no command shows by itself, or not without a network, and go to the code that has it:

- `kio`: streams under options of kyaml's readers and writers that no command takes (`read`,
  `read-write*`, `from-bytes`, `write`, `copy-legacy-annotations`, `seq-indent-annotation`,
  `derive-seq-indent`), `de-anchor`, `yaml11-non-string`; of `format` what is no resource.
- `merge3`: lists of which nothing is known, merged by inferred keys, as is done for Kptfiles alone.
- `kio-merge3` where the file is no part of a resource's identity.
- `runtime`: names of images and tags (`base-name-and-tag`, `has-tag-or-digest`, `resolve-image`,
  `filter-sort-tags`); `github-url`, which would ask GitHub; `parse-dir-version*`, a folder and
  version before anything is fetched; `path-rel-to-root`; `sdk-process`.
- `packagevariant`: what Porch's controllers ask of a cluster, as rules, packages and decisions.
- `functions/…`: helper kinds of single functions (`pattern-values`, `path-match`, `helper`,
  `depends-on-substring`, `is-same-resource` and such), which run the function on values.
"""
