CREATE TABLE memory_library (
    agent {name} NOT NULL,
    items BIGINT NOT NULL,
    item_digest {bytes} NOT NULL,
    change_digest {bytes} NOT NULL,
    model {name},
    dimensions BIGINT,
    building {name},
    PRIMARY KEY (agent)
);

CREATE TABLE memory_item (
    agent {name} NOT NULL,
    id {name} NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    collection {name} NOT NULL,
    symbol {name},
    document TEXT NOT NULL,
    text TEXT,
    content {bytes} NOT NULL,
    digest {bytes} NOT NULL,
    used_at BIGINT NOT NULL,
    archive BIGINT,
    archived_at BIGINT,
    archive_reason TEXT,
    PRIMARY KEY (agent, id),
    CONSTRAINT memory_item_number UNIQUE (agent, number)
);

CREATE TABLE memory_item_edge (
    agent {name} NOT NULL,
    child {name} NOT NULL,
    parent {name} NOT NULL,
    kind {name} NOT NULL,
    PRIMARY KEY (agent, child, parent, kind)
);
CREATE INDEX memory_item_edge_parent ON memory_item_edge (agent, parent);

CREATE TABLE memory_item_tombstone (
    agent {name} NOT NULL,
    id {name} NOT NULL,
    at BIGINT NOT NULL,
    who TEXT NOT NULL,
    PRIMARY KEY (agent, id)
);

CREATE TABLE memory_item_vector (
    agent {name} NOT NULL,
    model {name} NOT NULL,
    id {name} NOT NULL,
    vector {bytes} NOT NULL,
    PRIMARY KEY (agent, model, id)
);

CREATE TABLE memory_item_archive (
    agent {name} NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    items BIGINT NOT NULL,
    crc BIGINT NOT NULL,
    data {bytes} NOT NULL,
    PRIMARY KEY (agent, number)
);

CREATE TABLE memory_block_item (
    agent {name} NOT NULL,
    layout {name} NOT NULL,
    number BIGINT NOT NULL,
    crc BIGINT NOT NULL,
    data {bytes} NOT NULL,
    PRIMARY KEY (agent, layout, number)
);

CREATE TABLE memory_layer_state (
    agent {name} NOT NULL,
    id {name} NOT NULL,
    symbol {name} NOT NULL,
    layer {name} NOT NULL,
    importance {float},
    recency {float} NOT NULL,
    delta BIGINT NOT NULL,
    access_counter BIGINT NOT NULL,
    PRIMARY KEY (agent, id)
);
CREATE INDEX memory_layer_state_symbol ON memory_layer_state (agent, symbol);

CREATE TABLE memory_layer_event (
    agent {name} NOT NULL,
    symbol {name} NOT NULL,
    at BIGINT NOT NULL,
    kind {name} NOT NULL,
    subject {name} NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (agent, symbol, at, kind, subject)
);

CREATE TABLE memory_search (
    agent {name} NOT NULL,
    slot BIGINT NOT NULL,
    at BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    PRIMARY KEY (agent, slot)
);
