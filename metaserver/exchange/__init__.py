"""All between the hub and an annotation server.

`http` sends and bounds, `protocols` speak, `wire` reads XML-RPC and checks answers, `conformance`
tests a server before its first article. It may import lanes, corpus, uniprot and base.
"""
