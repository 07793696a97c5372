ALTER TABLE agents ADD COLUMN origin {name};

UPDATE agents SET origin = 'freqtrade'
WHERE as_of IS NOT NULL AND EXISTS (
    SELECT 1 FROM events
    WHERE events.agent = agents.key AND events.type = 'position' AND substr(events.id, 1, 3) = 'ft-'
);
