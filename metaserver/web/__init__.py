"""Everything that the hub serves by HTTP: pages, JSON, XML-RPC, event streams.

`access` says who may ask and how much, `api` serves programs, `public`, `team`, `curate` and
`organise` people, `ui` is what their pages share. Data is reached through operations alone.

It may import operations, curation, config, monitoring, tasks, protocols, wire, model, files,
scoring (cells) and annotators (starter).
"""
