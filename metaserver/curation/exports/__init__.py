"""Exports of finished curations, a module a format over one model (`finished`)."""
