"""The process in which a worker runs Python functions; started as `python -m muster._runner`.

It reads chunks where they lie in the worker's memory and hands results back through memory of its
own. What the two say to each other is in src/muster/service/python/README.md.
"""
