ALTER TABLE rework_agents ADD COLUMN bucket INTEGER NOT NULL DEFAULT -1;

UPDATE rework_agents SET bucket = (SELECT agents.bucket FROM agents WHERE agents.key = rework_agents.agent);

ALTER TABLE rework_agents ADD COLUMN by_workers BIGINT NOT NULL DEFAULT 0;

ALTER TABLE rework_agents ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;

ALTER TABLE rework_agents ADD COLUMN failure TEXT;

CREATE INDEX rework_agents_of_bucket ON rework_agents (bucket, tries, unit, agent)
    WHERE by_workers = 1 AND failure IS NULL
