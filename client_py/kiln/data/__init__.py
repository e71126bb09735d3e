"""What holds data: fields, the SNodes that they are placed in, ndarrays."""
