"""The operations for programs: JSON with its OpenAPI document, XML-RPC, and the reference page."""
