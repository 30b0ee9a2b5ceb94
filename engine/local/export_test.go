package local

import "time"

// KeepLargeFor is how long a large run is kept: for a machine that is slower than its time.
func KeepLargeFor(d *Driver, long time.Duration) {
	d.ended.mu.Lock()
	defer d.ended.mu.Unlock()
	d.ended.largeFor = long
}

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
