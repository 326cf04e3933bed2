"""Other memories, on the same data in the same run as jiyi: `jiyi eval retrieval --beside a1,a2,chroma,mem0`.

A module has `open_peer(folder, option) -> jiyi.evaluation.contenders.Contender`; `chroma:e5` names the module `chroma` with the
option `e5`. What they need is no dependency of jiyi: `pip install --group peers`. They answer from one user's turns, also where
the recipe itself has no user, and get the same texts.
"""
