"""Data: fields, the SNodes in which they are placed, ndarrays."""
