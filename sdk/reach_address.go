package sdk

import (
	"net/netip"
	"slices"
	"sync"
)

// reservedNetworks are those that no public service is in (the registries of RFC 6890).
// Of IPv6 only 2000::/3 is given out at all, so that the rest of it needs no line.
var reservedNetworks = sync.OnceValue(func() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
})

// privateNetworks are what ReachSettings.Private allows.
var privateNetworks = sync.OnceValue(func() []netip.Prefix {
	return prefixes("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
})

// metadataAddresses lie in private networks and give a machine's credentials away: they
// are reached only where Networks lists them.
var metadataAddresses = sync.OnceValue(func() []netip.Prefix {
	return prefixes("100.100.100.200/32", "fd00:ec2::254/128", "fd20:ce::254/128")
})

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

var (
	given    = netip.MustParsePrefix("2000::/3")
	nat64    = netip.MustParsePrefix("64:ff9b::/96")
	mappedV4 = netip.MustParsePrefix("::ffff:0:0/96")
)

// effective is the address that a packet to another one arrives at: IPv4 addresses that
// are written into IPv6 count as what they are.
func effective(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if nat64.Contains(address) {
		bytes := address.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return address
}

// plainPrefix writes a network of mapped IPv4 addresses as one of IPv4.
func plainPrefix(network netip.Prefix) netip.Prefix {
	if network.Addr().Is4In6() && network.Bits() >= mappedV4.Bits() {
		return netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-mappedV4.Bits()).Masked()
	}
	return network.Masked()
}

// checkAddress says why an address may not be connected to, nil where it may.
func (r *reach) checkAddress(host string, address netip.Addr) *ReachError {
	at := effective(address)
	within := func(all []netip.Prefix) bool {
		return slices.ContainsFunc(all, func(network netip.Prefix) bool { return network.Contains(at) })
	}
	switch {
	case within(r.networks):
		return nil
	case (at.Is4() || given.Contains(at)) && !within(reservedNetworks()):
		return nil
	case r.private && within(privateNetworks()) && !within(metadataAddresses()):
		return nil
	}
	why := "the address " + address.String() + " is not a public one"
	if host != address.String() {
		why = "the host " + host + " has the address " + address.String() + ", which is not a public one"
	}
	return &ReachError{Host: host, Address: address, why: why}
}
