package local

// ForgetLarge forgets the large run that is kept, as its time does, and says how many there were.
func ForgetLarge(d *Driver) int {
	d.ended.mu.Lock()
	defer d.ended.mu.Unlock()
	if d.ended.large == nil {
		return 0
	}
	d.ended.drop(d.ended.largeID)
	return 1
}
