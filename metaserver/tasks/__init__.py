"""Tasks that a challenge can run, which check and score answers.

They are discovered by the entry points `metaserver.tasks` and `metaserver.offline_tasks`.
"""
