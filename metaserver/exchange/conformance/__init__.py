"""The conformance run, which a server must pass before its first article counts (docs/teams.md).

`procedure` tests the server step by step, `runner` stores the reports of each server and phase. It
may import phases and all below.
"""
