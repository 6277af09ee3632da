"""Tasks that a challenge can run: a module each, discovered by the entry points `metaserver.tasks`
and `metaserver.offline_tasks`.

They check and score answers; boards are in leaderboards. It may import wire, corpus (uploaded
zips), uniprot, model and scoring (the evaluator).
"""
