"""Who is calling, and whose memory they may reach (SPEC S1–S3). Knows nothing of HTTP: every surface asks it.

identity = entrance.identify(bearer_token)        # raises NotIdentified
identity.check(Right.WRITE)                       # raises NotAllowed
scope = scope_of(identity, users=names_that_the_call_carries)
"""
