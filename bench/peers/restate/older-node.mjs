// What the SDK needs of Node 22, for older ones. It is imported before the SDK.
Promise.withResolvers ??= function () {
  const all = {};
  all.promise = new this((resolve, reject) => Object.assign(all, { resolve, reject }));
  return all;
};
