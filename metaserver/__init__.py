"""The hub: dispatches articles to annotation servers, validates, stores and scores answers."""
