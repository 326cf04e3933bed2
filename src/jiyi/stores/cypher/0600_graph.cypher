// The graph in Neo4j: a view of memories, which `jiyi graph repair` makes again (SPEC G4, O3).
//
// (:Scope {owner, tenant, user, version, claim})   one user of one database, and how far it was told
// (:Name {owner, key, name, spelling, base, base_key})-[:NAMES]->(:Entity)
// (:Entity:Company {owner, key, name, type})       what several names stand for, with a label by its type
// (:Entity)-[:COMPETES_WITH {owner, memory, …}]->(:Entity)   one memory, by the name of its relation
// (:Told {owner, memory, start, end})              leads from the number of a memory to its relationship
//
// owner is part of every key. key and base_key are digests: a name may be longer than an index takes.
CREATE CONSTRAINT jiyi_scope IF NOT EXISTS FOR (s:Scope) REQUIRE s.owner IS UNIQUE;
CREATE CONSTRAINT jiyi_entity IF NOT EXISTS FOR (e:Entity) REQUIRE (e.owner, e.key) IS UNIQUE;
CREATE CONSTRAINT jiyi_name IF NOT EXISTS FOR (n:Name) REQUIRE (n.owner, n.key) IS UNIQUE;
CREATE CONSTRAINT jiyi_told IF NOT EXISTS FOR (t:Told) REQUIRE (t.owner, t.memory) IS UNIQUE;
CREATE INDEX jiyi_name_base IF NOT EXISTS FOR (n:Name) ON (n.owner, n.base_key);
