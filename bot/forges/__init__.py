"""Forges: what the bot asks of one (`port`), and an adapter for each kind that answers.

A new one is a folder beside `github` that implements `port` and `webhooks`. It is put in at
`bot.connecting`, its settings at `bot.settings`; the name of an instance is what keys, records and
the database call it. The tests in `tests/contract` hold it to the port once `tests.contract.forges`
names it.
"""
