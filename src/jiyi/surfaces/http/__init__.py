"""HTTP under `/v1` (SPEC U2). `app.create_app(memory)` is an ASGI application; `jiyi serve` runs it."""
