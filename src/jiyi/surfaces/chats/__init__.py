"""Memory in the chats of others (SPEC U2): what the proxies, `jiyi.wrap` and `jiyi chat` have in common."""
