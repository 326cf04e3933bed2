"""The REST interface of mem0, in both of its dialects, so that its clients move by changing an address (SPEC U2).

The hosted platform's routes are those that `MemoryClient` calls (v1, v2 and v3, with a slash at the end), the open-source
server's stand at the root. Both are the same few functions over the façade: `routes`. Whose memory a call is about is
settled as everywhere (SPEC S1): a `user_id` is a name that must be the token's; the ids of agents, apps and runs are labels.
"""
