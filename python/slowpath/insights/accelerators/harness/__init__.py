"""Which argument means what: functions as functions of bytes and a seed."""
