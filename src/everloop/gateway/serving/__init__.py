"""The served gateway: an OpenAI-compatible endpoint with keys and caps of its own."""
