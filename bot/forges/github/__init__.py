"""GitHub as a forge: requests, errors, webhooks, people and talk turned into our values."""
