"""Exports of finished curations, a module per format over a common model (`finished`)."""
