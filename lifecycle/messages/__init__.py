"""The texts that the bot writes for people, a module for each place where they are read.

Same problem, same text: no time stamps, no counters of attempts, lists sorted; so a comment can be
edited in place, and nothing is sent when nothing changed. Text that comes from packages or people
goes through `code` or `quote` of `markdown`.
"""
