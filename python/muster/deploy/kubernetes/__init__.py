"""The commands of containers: ``python -m muster.deploy.kubernetes.scheduler`` and so on.

Each becomes the ``muster`` program in the role of its name, which reads what the controller put
into the environment (``MUSTER_…`` or ``MARS_…``).
"""
