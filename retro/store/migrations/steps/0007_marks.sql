ALTER TABLE mark_blocks ADD COLUMN micros {bytes};

ALTER TABLE mark_corrections ADD COLUMN micros BIGINT NOT NULL DEFAULT 0;

ALTER TABLE faults ADD COLUMN agent {name};

CREATE TABLE source_agents (
    agent BIGINT NOT NULL REFERENCES agents (key),
    source {name} NOT NULL,
    PRIMARY KEY (agent, source)
);

INSERT INTO source_agents (agent, source)
SELECT DISTINCT agents.key, faults.source FROM faults CROSS JOIN agents
WHERE length(faults.source) <= 500;
