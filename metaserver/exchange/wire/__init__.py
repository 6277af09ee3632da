"""The wire: XML-RPC bytes to values and back, and answers checked against the contract.

It does no I/O and knows no server.
"""
