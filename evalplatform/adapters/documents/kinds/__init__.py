"""The document source kinds; each module registers one."""
