"""The area under 4 / (1 + x²) between 0 and 1, shared out over the ranks that a launcher started:

    muster run -n 4 -- python examples/python/pi.py

Started alone, it is a group of one.
"""

import numpy as np

from muster.collective import Group

STRIPS = 1_000_000

# region from-environment
with Group.from_environment() as group:  # returns when all ranks are there
    x = (np.arange(group.rank, STRIPS, group.size) + 0.5) / STRIPS
    area = np.sum(4 / (1 + x * x)) / STRIPS
    total = group.allreduce(np.array([area]))
    if group.rank == 0:
        print(f"pi is {total[0]:.6f}, say {group.size} ranks")
# endregion
