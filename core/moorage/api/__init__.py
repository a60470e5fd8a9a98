"""The only code that talks to an API server; stage 1 of the flow, and where stage 6 writes.

In: how to reach a server and as whom (`connection`), one request and its errors (`client`,
`faults`, `pacing`), what there is to ask for (`resources`, `informing`), list and watch
(`watching`, over the lines that `decoding` reads), and all that a scheduler writes (`writing`,
`recording`). Everything is asyncio and belongs to one event loop.

Out: what an event means (`moorage.feed`), when to write (`moorage.binding`), which records are
decoded (`moorage.model`: a reflector is generic over the record). Leader election is
`moorage.serving`'s.

May import `moorage.model` and `moorage.errors`; never the framework.
"""
