"""Commands in comments: found in Markdown, parsed by one table, answered by stage and right.

A new command is a row of `table` and a function in `handlers`; parsing, `/help`, the reference page
and the tests read the table.
"""
