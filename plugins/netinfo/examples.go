package netinfo

// What the examples give. Records whose fields are not documented are empty
// here: nothing is invented for them.
const (
	callerOutput       = `{"ip":"203.0.113.7","location":{"city":"Bonn","region":"North Rhine-Westphalia","country":"DE","continent":"EU","latitude":50.73,"longitude":7.1,"timezone":"Europe/Berlin","postal_code":"53113","is_eu":true},"network":{"asn":64500,"isp":"Example Net","connection_type":"cable","tls_version":"TLSv1.3"},"privacy":{"type":"residential","score":98,"grade":"A","label":"Residential","is_vpn":false,"is_datacenter":false,"is_residential":true},"ipv6":false}`
	lookupOutput       = `{"ip":"192.0.2.1","location":{"city":null,"region":null,"country":"DE","country_name":"Germany","latitude":51.0,"longitude":9.0,"timezone":"Europe/Berlin","postal_code":null},"network":{"asn":64501,"isp":"Example Net","org":"Example","as_name":"EXAMPLE"}}`
	lookup6Output      = `{"ip":"2001:db8::1","location":{"country":"NL","country_name":"Netherlands"},"network":{"asn":64502,"isp":"Example Six","org":null,"as_name":"SIX"}}`
	addressesOutput    = `{"domain":"example.com","type":"A","records":[{"name":"example.com","type":1,"ttl":300,"data":"192.0.2.1"}],"authority":[]}`
	mailOutput         = `{"domain":"example.com","type":"MX","records":[{"name":"example.com","type":15,"ttl":3600,"data":"10 mail.example.com."}],"authority":[]}`
	headersOutput      = `{"method":"GET","url":"/api/v1/headers","headers":{"accept":"application/json","user-agent":"flowrun-netinfo/1.0.0"},"ip":"203.0.113.7"}`
	registrationOutput = `{"domain":"example.com","registrar":"Good Names","creation_date":"1995-08-14T04:00:00Z","expiration_date":"2027-08-13T04:00:00Z","last_updated":"2026-08-14T07:01:31Z","name_servers":["a.example","b.example"],"status":["client transfer prohibited"],"rdap_link":"https://rdap.example/domain/example.com","days_to_expiry":264,"found":true}`
	lostOutput         = `{"domain":"example.com","registrar":null,"creation_date":null,"expiration_date":null,"last_updated":null,"name_servers":null,"status":null,"rdap_link":null,"days_to_expiry":null,"found":false}`
)
