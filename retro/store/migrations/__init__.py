"""The steps that bring a database up to date: `steps/` holds their frozen text, `runner` applies them in order."""
