package boltstore_test

func child(role string) int { return 1 }
