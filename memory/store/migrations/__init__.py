"""The steps that make the memory's tables: `steps/` holds their frozen text, `runner` spells them for a database."""
