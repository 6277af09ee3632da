"""The conformance run: what must pass before a server's first article counts (docs/teams.md).

`procedure` asks the server step by step, `runner` keeps the reports of each server
and phase. It may import phases and all below.
"""
