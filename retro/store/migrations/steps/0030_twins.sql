ALTER TABLE review_documents ADD COLUMN twins TEXT
